"""Devices: naming one, and making sure that it is there."""

from tablerec.devices.select import Device, parse_device, require_device

__all__ = ["Device", "parse_device", "require_device"]
