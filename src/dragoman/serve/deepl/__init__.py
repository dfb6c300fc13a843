"""The dialect of DeepL, for its clients."""
