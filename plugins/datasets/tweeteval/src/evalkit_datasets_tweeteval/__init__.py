"""TweetEval (Barbieri et al. 2020): classification of tweets."""
