### Resources
# A greeting
hello = Hello, { $name }, the <a data-l10n-name="link">dog</a>!
long =
    The first line goes over
    two lines, for { -brand }.
count = { $n ->
    [one] { $n } file
   *[other] { $n } files
  } are here
open-button = Open
    .title = The { "{" }button
    .accesskey = O
-brand = Dragoman
