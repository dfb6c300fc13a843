"""Plain text, tables and subtitles."""
