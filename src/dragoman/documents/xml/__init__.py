"""XML: any document of it, and what the formats made of it share."""
