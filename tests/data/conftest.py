"""A busy machine is no reason for a law to fail: hypothesis watches no clock here."""

from hypothesis import settings

settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")
