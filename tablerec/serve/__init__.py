"""A server of our own: pictures and documents in, tables out, over HTTP.

::

    command.py    tablerec serve
    server.py     uvicorn: slow and silent clients are cut, SIGTERM lets requests finish
    guards.py     who may ask, from where, and how much and how slowly a body may come
    app.py        the addresses: tables, jobs, health, metrics, the page, OpenAPI
    schema.py     what a request may say, and what an answer says
    intake.py     bodies become files, in memory or on the disk
    work.py       files become pages, side by side with those of other requests
    jobs.py       long documents, whose results are fetched later
    formats.py    what an answer is written as, by Accept
    problems.py   errors as problem+json
    metrics.py    counts and times for Prometheus
    limits.py     how much, how many, how long
    client.py     a client that needs the standard library only

The extra ``serve`` brings FastAPI and uvicorn; nothing of it is imported before it is needed.
"""
