"""Objects in S3, and in servers that speak its language, by boto3."""
