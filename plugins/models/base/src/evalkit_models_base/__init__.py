"""Ask models: the kind `models`, requests, replies, retries and the reply cache."""
