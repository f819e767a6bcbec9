"""Intervals and tests as functions of arrays: values, counts and clusters.

Nothing here knows a metric, a group or a run. Each function names its source.

Unless a function says otherwise, `sizes` is the number of rows of each cluster and
`totals` the sum of their values, both of shape (clusters,); there are two clusters or
more. `counts` and `times` say how often each value of an array of the same shape
occurs. `confidence` is the probability of an interval, such as 0.95.
"""
