"""Networks in paddle.nn; each file imports Paddle and is imported late itself."""
