"""Networks in paddle.nn and their files; each module imports Paddle and is imported late itself.

- ``cellnet``, ``rtdetr``: networks that detect cells; ``linenet``: the one that reads lines, and ``characters`` what
  it reads
- ``arrays``: weights by name, in a network, a file or an exported model; ``adapter``: the few that a training changed
- ``export``: Paddle's static model and ONNX; ``inference``: networks made shorter for it; ``static``: how far and how
  fast the forms of a network are
- ``folder``, ``catalogue``: exported models, and those that tablerec knows; ``opening``: how they are opened to run
- ``formats``: files of other frameworks; ``migration``: a network of PyTorch in Paddle
- ``command``: ``tablerec export`` and ``tablerec models``

Weights in the package are in ``weights``.
"""
