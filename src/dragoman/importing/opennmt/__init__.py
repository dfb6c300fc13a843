"""Models for CTranslate2, and packages of Argos Translate."""
