"""What makes other systems use tablerec; nothing of tablerec imports it."""
