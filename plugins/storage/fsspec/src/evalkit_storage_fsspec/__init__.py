"""Files in any file system of fsspec, such as gs://, az:// and ssh://."""
