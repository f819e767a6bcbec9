"""Models behind a server of the OpenAI protocol, hosted or local."""
