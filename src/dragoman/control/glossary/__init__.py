"""Glossary terms: which a line has, and how a translation comes to use them."""
