"""The dialect of LibreTranslate, for its clients."""
