"""What else a picture may show: grids that the recogniser rated lower, and what another reader reads.

`tablerec.corrections.proposals.grids` finds the rivals of a grid, `tablerec.corrections.proposals.readings` reads all
cells once more; either gives steps of `tablerec.corrections.editor.operations`, of which a person takes one.
"""
