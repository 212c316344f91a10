"""The second renderer: synthetic pages laid out and drawn by Chromium, with the truth read from its DOM.

::

    markup.py     page -> HTML and CSS
    chromium.py   a headless Chromium, driven by Playwright
    renderer.py   HTML -> picture with its truth
"""
