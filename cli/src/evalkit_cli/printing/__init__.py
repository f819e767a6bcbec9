"""What commands print: tables, lines and bars."""
