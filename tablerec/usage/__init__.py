"""How the command line is used: what it can do, how it ends, what it answers to a typing error.

- ``verbs``: the verbs, and which one was meant
- ``exit_codes``: how a command ends
- ``command``: ``tablerec completion``
"""
