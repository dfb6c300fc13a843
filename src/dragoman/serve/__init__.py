"""The translation service: HTTP ↔ `Translator`.

The path of a request, down and back:

    guard                         the host, the size of the body, an id; the log and the metrics of the answer
    http.access                   who sends it: one `ServiceCall` with the service and the key, made once
    native, libretranslate, deepl a dialect: HTTP → `TextRequest` → its own answer
    work.service                  admission, deadline, a thread for each request; a client that leaves cancels
    work.text                     `TextRequest` → languages, model, lines → `Translator.translate` → `TextAnswer`
    search.engine                 an `Engine` for one request: what it is asked goes to the batcher
    search.batcher, fair          the sentences of all requests in common batches → the engine of the model

Above the batcher a request is translated as offline, by the same code, and an engine finds the same for a sentence in
any batch. So the service answers what `Translator.translate` returns.
"""
