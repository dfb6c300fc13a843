"""Placeholders: what a translation copies as it is, such as `%s`, `{name}`, `<b>`, web addresses. Named patterns.

Input: a text. Output: its placeholders in order, none overlapping another; of those that overlap, the longest. The
patterns know file formats and leave alone what is more often text: `100 % sure` has no `% s`, `10:30` no `:30`,
`he/she` no path, `$5` no variable unless `$1` to `$4` are there too, and `$1` alone none where money is spoken of, by
English and Korean words. `laravel` (also `:Name`), `accelerator` and `number` are found on request only: numbers may be
written differently in another language and are compared by `text.words.numbers`; `:name` behind a space is a `marker`.
`identifier` is what mixes letters, digits and signs: `COVID-19`, `v2.3.1`, a UUID, a checksum; `5 km`, `2nd` and
`top-10` are words with a number.

Every expression takes linear time: what repeats is possessive or has a maximum.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from dragoman.config.sections.decode import PLACEHOLDERS
from dragoman.errors import ConfigError
from dragoman.text.words.particles import is_particles

_PRINTF = r"""
    %% | %(?:\d{1,2}\$)?\#@\w{1,60}@
    | (?<![\w%]) % (?: \(\w{1,60}\) | \d{1,2}\$ | \[\d{1,2}\] )? [-+#0']{0,4} (?: \d{1,4} | \* )?
      (?: \.(?:\d{1,3}|\*) )?
      (?: (?:hh?|ll?|[zjtqL])? [sdiufFgGeExXcCaAopnr@m] (?! [A-Za-z]{3} | [A-Za-z]*[0-9_] ) | [vqwT](?![A-Za-z0-9_]) )
    | (?<=[A-Za-z_}>]) % (?: \(\w{1,60}\) | \d{1,2}\$ )? [sdiufcrx@] (?![A-Za-z0-9_]) | (?<=\d)%s(?![A-Za-z0-9_])
    | %\(\w{1,60}\)[sdifr] | %<\w{1,60}>[-+0]{0,2}(?:\d{1,3})?(?:\.\d{1,2})?[sdifugexX]
"""
# %1 and %L2 of Qt, %n of its plurals is in printf; %NAME% and %name% of shells and templates, %PRODUCTNAME.
_PERCENT = r"""
    %L?[1-9](?![\d%A-Za-z]|[.,]\d) | %[1-9]%(?=\W|$)
    | (?<![\w%]) %[A-Za-z_][\w.-]{1,40}%(?![\w%]) | (?<![\w%]) %[A-Z][A-Z_]{3,40}(?![\w%])
"""
_IDENTIFIER = r"[^\W\d][\w-]{0,60}"
_BRACE = rf"""
    [\#%@]? \{{ (?: (?: {_IDENTIFIER} | \d{{1,3}} )? (?: \.[\w-]{{1,60}} | \[[^\[\]{{}}\s]{{1,60}}\] ){{0,8}}
      (?: ![rsa] )? (?: ,-?\d{{1,3}} )? (?: :(?!\s)[^{{}}\n]{{0,60}} )?
      | \s? {_IDENTIFIER} \s{{0,2}} , \s{{0,2}} (?:number|date|time|duration|ordinal|spellout) (?: ,[^{{}}\n]{{1,60}} )?
        \s? | \#\w{{1,60}}
      | \s? \$[A-Za-z_]\w{{0,60}} (?: (?:->|\.)\w{{1,60}} | \[[^\[\]{{}}\s]{{1,60}}\] ){{0,8}} \s? ) \}}
"""
_TEMPLATE = r"\{\{[^{}\n]{0,200}\}\} | \{%[^{}\n]{1,200}%\} | <%[^<>\n]{1,200}%> | <\?(?:php|=)[^<>\n]{0,200}\?>"
_SHELL = r"""
    \$\{[^{}\n]{1,100}\} | \$\([A-Z_]\w{0,60}\) | (?<![\w$])\$[1-9](?![A-Za-z0-9]|[.,]\d|\s[a-z]{1,6}illion|\sthousand)
    | (?<![\w$])\$[1-9](?=[a-z]{4})(?![a-z]{1,4}illion|thousand|hundred)
    | \$[A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,40} | \$[A-Z]{4,40}(?![\w-])
    | (?<![\w$]) \$[a-z_]\w{1,40}\$?
"""
# Attributes without a value, between and after those with one; alone only the usual ones of an element, since
# `<a valid name>` is text. `<color=red>` is how games write it.
_BARE = r"(?: \s{1,9} [a-z-]{1,30} (?![\w-]|\s?=) ){0,6}+"
_TAG = rf"""
    < (?: (?:/? [A-Za-z] [\w:.-]{{0,60}} | /?\d{{1,3}})
          (?: (?: {_BARE} \s{{1,9}} [\w:.@-]{{1,60}} \s? = \s?
            (?: "[^"<>]{{0,500}}" | '[^'<>]{{0,500}}' | [^\s<>"'=]{{1,300}} ) ){{1,20}} {_BARE} )?
        | (?:input|button|option|select|textarea|video|audio|script|details|ol|iframe|img)
          (?: \s [a-z-]{{1,30}} ){{1,8}}
        | (?:div|span|p|a|h[1-6]|ul|li|t[dhr]|table|section|article|form|label|dialog|fieldset|link|template|track)
          (?: \s (?:hidden|disabled|required|download|nowrap|open|inert|novalidate|itemscope|default) ){{1,4}}
        | [A-Za-z][\w-]{{0,30}} = (?: "[^"<>\n]{{0,200}}" | [\w\#%.,:+-]{{1,60}} )
      ) \s{{0,9}} /? >
    | <!--(?: [^-] | -(?!->) ){{0,500}}+-->
"""
_TOP = "com|org|net|edu|gov|mil|info|io|dev|app|ai|kr|jp|cn|de|fr|uk|eu|us|ru|es|nl|pl|br|ca|au|ch|at"
_URL = rf"""
    (?: (?:https?|ftps?|sftp|ssh|file|git|wss?)://
      | (?:mailto|tel|urn|data):(?=[\w+]) | (?<![\w.@/-]) www\.(?=[\w-]) )
      (?: [A-Za-z0-9\-._~:/?\#\[\]@!$&'()*+,;=%{{}}|]
        | (?<=[/=_\-?\#&%+.\u00c0-\ufffd])[\u00c0-\u1fff\u3040-\ud7ff\uf900-\ufbff] ){{1,2000}}+
    | (?<![\w.@/\\-]) (?: [a-z0-9](?:[a-z0-9-]{{0,61}}[a-z0-9])?\. ){{1,5}} (?:{_TOP}) (?![A-Za-z0-9_-]|\.\w)
      (?: /[A-Za-z0-9\-._~:/?\#\[\]@!$&'()*+,;=%]{{0,500}}+ )?
"""
_EMAIL = r"(?<![\w.+-]) [A-Za-z0-9_.+-]{1,64}@ (?: [A-Za-z0-9-]{1,63}\. ){1,6} [A-Za-z]{2,24} (?![A-Za-z0-9_])"
_ENDINGS = (
    "txt|md|rst|tex|html?|xml|xsd|json|jsonl|ya?ml|toml|ini|cfg|conf|csv|tsv|log|pdf|docx?|xlsx?|pptx?|od[tspg]|epub|"
    "png|jpe?g|gif|svgz?|bmp|ico|webp|tiff?|psd|mp3|mp4|wav|ogg|flac|avi|mkv|mov|webm|zip|tar|gz|bz2|xz|7z|rar|jar|exe|"
    "dll|bin|iso|img|deb|rpm|apk|py|pyc|ipynb|js|mjs|ts|jsx|tsx|vue|css|scss|cpp|hpp|java|class|kt|rs|rb|php|pl|sh|bat|"
    "ps1|sql|db|sqlite|pot?|mo|srt|vtt|ttf|otf|pem|crt|key|lock|bak|tmp"
)
# Names of folders may have spaces before words that begin as names do: `C:\Program Files\App`, not `C:\temp and D:\x`.
_NAME = r"""[ ](?:(?:and|of)[ ])?[A-Z0-9(\u00c0-\uffff][^\s<>"'|?*:/\\]{0,60}"""
_SPACED = rf"(?: (?:{_NAME}){{1,4}} (?=[/\\]) )?"
_BACKSLASHED = rf"""
    (?: [^\s<>"'|?*:\\]{{1,100}}{_SPACED}\\ ){{0,30}}+
    (?: [^\s<>"'|?*:\\]{{1,100}} (?: (?:{_NAME}){{1,4}} (?: (?<=\.\w\w\w) | (?<=\.\w\w\w\w) ) )? )?
"""
_PATH = rf"""
    (?<![\w/.:<~\\-]) (?: /[\w.@+%-]{{1,60}} ){{1,9}} (?:{_NAME}){{1,4}} (?=/)
      (?: /[\w.@+%-]{{1,60}}{_SPACED} ){{1,20}} |
    (?<![\w/.:<~\\-]) (?: ~?/ | \.\.?/ ) [\w.@+*%-]{{1,100}} (?: /[\w.@+*%${{}}-]{{1,100}} ){{1,30}} /?
    | (?<![\w/.:<~\\-]) (?: ~/ | \.\.?/ | /(?=(?:etc|dev|usr|var|tmp|home|proc|sys|opt|bin|lib|boot|mnt|root)\b) )
      [\w.@+*-]{{1,100}} /?
    | (?<![\w/.:<~\\)%}}-]) (?: [\w.-]{{1,60}}/ ){{1,20}} [\w-]{{1,60}} (?: \.[\w-]{{1,40}} ){{0,4}} \.(?:{_ENDINGS})
      (?![\w-])
    | (?<![A-Za-z]) [A-Za-z]:\\{_BACKSLASHED} | (?<![\w\\]) \\\\[\w.$-]{{1,60}}\\{_BACKSLASHED}
    | (?<![\w/.@<~\\-]) \w[\w-]{{0,60}} (?: \.[\w-]{{1,40}} ){{0,4}} \.(?:{_ENDINGS}) (?![\w-]|\.\w)
"""
_PICTURE = (
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2b55\u231a\u231b\u23e9-\u23f3\u2934\u2935\u2b05-\u2b07\u203c\u2049]"
)
_EMOJI = rf"""
    [\U0001F1E6-\U0001F1FF]{{2}} | [0-9\#*]\ufe0f?\u20e3 | [\u00a9\u00ae\u2122\u2194-\u21aa]\ufe0f
    | \U0001f3f4[\U000e0030-\U000e007a]{{2,8}}\U000e007f
    | {_PICTURE}[\ufe0f\U0001F3FB-\U0001F3FF]{{0,2}} (?: \u200d{_PICTURE}[\ufe0f\U0001F3FB-\U0001F3FF]{{0,2}} ){{0,6}}
"""
_DATE = r"""
    (?<![\d.-]) (?: \d{4}([-./])\d{1,2}\1\d{1,2} | \d{1,2}([-./])\d{1,2}\2(?:\d{4}|\d{2}) ) (?![\d-])
      (?: [T\ ]\d{2}:\d{2} (?: :\d{2} (?:\.\d{1,6})? )? (?:Z|[+-]\d{2}:?\d{2})? )?
"""
# Three parts, such as those of subtitles; `9:30` is two numbers, which other languages write otherwise.
_TIME = r"(?<![\d:.,]) \d{1,3}:\d{2}:\d{2}(?:[.,:]\d{1,6})? (?![\d:])"
_PHONE = r"""
    (?<![\w+.,:-]) (?: \+\d{1,3} (?:[ .-]?\(\d{1,4}\) | (?=[ .-])) (?: [ .-]?\d{1,4} ){1,5} (?<=\d{3})
      | \(\d{2,4}\)[ -]?\d{3,4}[ .-]\d{3,4} | 0\d{1,2}[ .]\d{3,4}[ .]\d{4} | \d{3}\.\d{3,4}\.\d{4} | \d{3}-\d{4}
      | 1[56]\d\d-(?!1[5-9])\d{4} | \d{6}-\d{7} | \d{4}(?:[ ]\d{4}){2,4} | \d{1,8} (?: -\d{1,8} ){2,8} )
      (?![\w-]|[.,]\d)
    | (?<![\w.,:-])\d{2,3}(?: [가나다라마거너더러머버서어저고노로모보소오구누두루무부수우하허]
      | [가라마거너머버서어저노로오누루우하허][ ] )
      \d{4} (?![\d:%-]|[.,]\d|\s?[가-힣]*[년원명만억개월])
"""
# Letters and digits with what joins them; `_is_identifier` says which of them are words with a number.
_IDENTIFIER_RUN = r"""
    (?<![A-Za-z0-9_@%&$\\]) (?: (?:ISO|IEC|ISO/IEC|DIN|RFC|IEEE|ANSI|JIS|ASTM)\ \d{2,6} (?: [-:.][0-9]{1,5} ){0,3}
      | [A-Za-z0-9]{1,400}+ (?: [-_.:/+=]{1,2}[A-Za-z0-9]{1,400}+ ){0,60}+ ={0,2} | ::1 (?!\w) )
"""
_MARKER = r"""
    (?<![\w#@$^§~|+&%])
      (?: ([#@$^§~|+&_%])\1{1,5} [A-Za-z0-9][\w.-]{0,60}? \1{2,6} | ([#@§^|])[A-Z]{1,20}[-_]?\d{1,6}\2 )
      (?![\w#@$^§~|+&%])
    | (?<![\d.,])\d{1,9}(?:[.,]\d{1,9})?\s?&[lg]t;\s?\d{1,9}(?:[.,]\d{1,9})?(?![\d%])
    | &lt;/?[A-Za-z][\w:.-]{0,30}
      (?: \s[\w:.-]{1,30}= (?:"[^"&]{0,100}"|'[^'&]{0,100}'|&quot;[^&]{0,100}&quot;|[\w.-]{1,40}) ){0,5} \s?/?&gt;
    | (?<![\w*])_{3,80}(?![\w*])
    | (?<![\w.])[xznpkqrtXZ][ ]?[\u2264\u2265\u2260\u2248][ ]?-?\d{1,20}(?:[.,]\d{1,20})?(?![\w%])
    | \[(b|i|u|s|url|img|color|size|quote|code)(?:=[^\[\]\n]{1,200})?\](?=[^\n]{0,500}?\[/\3\])
    | \[/(?:b|i|u|s|url|img|color|size|quote|code)\]
    | \[\[[^\[\]\n]{1,60}\]\] | <<[\w.-]{1,60}>> | \[[A-Z]{1,20}[-_]?\d{1,6}\]
"""
# Variables of messages, `:count` behind a space, by usual names or with `_`, since a space may be on the wrong side of
# a colon; and pictures by their names, `:smile:`.
_COLON = r"""
    | (?<![^\s"'“‘(\[>]) (?<!\d[ ]) :
      (?: [a-z]{1,20}(?:_[a-z0-9]{1,20}){1,4} | attribute|amount|app|author|city|company|count|current|date|day|days|
        email|field|filename|firstname|format|hours|id|index|item|items|key|label|lastname|limit|link|locale|max|min|minutes|
        model|month|name|num|number|other|page|pages|password|path|phone|position|price|product|quantity|role|seconds|
        site|size|slug|status|subject|time|title|token|total|type|url|user|username|users|value|values|version|year )
      (?![\w:-])
    | (?<![\w:]) :(?:[a-z][a-z0-9_+-]{1,30}|[+-]1): (?![\w:])
"""
# Names of C++ and Rust, and messages of ICU, of which a line is no file.
_BRANCH = r"\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,80}\}){0,200}+\}){0,200}+\}){0,400}+\}"
ICU_MESSAGE = re.compile(r"\{\s?\w{1,60}\s?,\s?(?:plural|select|selectordinal)\s?,")
_CODE = rf"""
    | (?<![\w:]) (?: (?:std|boost|absl|crate|self|super|core|alloc|chrono|tokio|serde)(?:::~?\w{{1,60}}){{1,6}}
      | [A-Za-z_]\w{{0,60}}(?:::~?\w{{1,60}}){{2,6}} | [A-Za-z_]\w{{0,60}}::~?\w{{1,60}}(?=[(<])
      | (?:[A-Za-z]{{0,40}}[a-z][A-Z]\w{{0,40}}|[A-Za-z]{{1,40}}_\w{{0,40}})::~?\w{{1,60}} ) (?![\w:])
    | {ICU_MESSAGE.pattern}(?:[^{{}}]|{_BRANCH}){{1,400}}+\}}
"""
# A command with its options: the first word says that it is one, words of prose are none of it. Names that are words
# (a cargo, a ball of yarn) say so only with a subcommand or a long option; an option is no article between dashes.
_TOOLS = (
    "npm|npx|pnpm|pip3|kubectl|apt-get|dnf|wget|ssh|scp|rsync|grep|awk|ls|rm|cp|mv|mkdir|chmod|chown|gcc|systemctl|ffmpeg|"
    "psql|mysql|tmux"
)
_WORDS_TOO = "git|yarn|pip|docker|podman|helm|apt|yum|brew|cargo|conda|python3?|tar|sed|curl"
COMMAND = re.compile(rf"(?<![\w./:-])(?:{_TOOLS}|{_WORDS_TOO})(?![\w-])")
_SUBCOMMANDS = (
    "run|install|uninstall|commit|push|pull|add|build|exec|get|apply|clone|checkout|start|stop|restart|status|log|logs|diff|"
    "merge|rebase|fetch|init|update|upgrade|remove|rm|list|ps|images|publish|test|create|delete|describe|config|branch|"
    "tag|stash|reset|show|up|down|compose|pods|pip|venv|enable|disable"
)
# What a writer puts between dashes instead of commas begins so.
DASHED_WORDS = (
    "all|and|as|at|by|de|du|el|en|for|he|if|in|is|it|la|le|my|no|of|on|or|que|she|so|the|to|un|une|was|we|you"
)
_OPTION = r"-[A-Za-z]{1,3}(?![\w-])|--[a-z][a-z-]{1,40}(?:=[\w./:@%+-]{1,60})?(?![\w-])"
_NO_PACKAGE = (
    "a|all|an|and|again|any|as|can|command|fails|for|from|has|if|in|is|it|may|must|on|or|should|that|the|then|to|when|"
    "which|will|with|would|you|your"
)
_SHELL_COMMAND = rf"""
    | (?<![\w./:-]) (?:sudo[ ])?
      (?: (?:{_TOOLS})
        | (?:{_WORDS_TOO}) (?=(?:[ ](?:{_SUBCOMMANDS})){{1,3}}[ ]-(?!(?:{DASHED_WORDS})\b)|[ ]--[a-z])
        | python3?(?=[ ]-[mcVuO][ ]) | tar(?=[ ]-[cxt][a-z]{{0,4}}[ ]) | sed(?=[ ]-[inErs]{{1,3}}[ ]['"])
        | curl(?=[ ]-[A-Za-z][^\n]{{0,120}}://) )
      (?:[ ](?:{_SUBCOMMANDS})(?![\w-])){{0,3}}
      (?: [ ](?:{_OPTION}) (?: [ ](?: "[^"\n]{{1,100}}" | '[^'\n]{{1,100}}' | [\w.-]{{0,40}}/[\w./-]{{0,60}}(?<![.,])
        | (?<=-m[ ])(?:pip|venv|pytest|unittest|http\.server)(?:[ ](?:{_SUBCOMMANDS})(?![\w-]))? ) ){{0,2}} ){{1,8}}
      (?: (?<=install)[ ](?!(?:{_NO_PACKAGE})\b)
        [a-z][\w-]{{1,40}} )?
"""
# Of commands and messages: pairs of tags as Phrase writes them (`{1>bold<1}`, `{b>bold<b}`), formats of arguments,
# addresses of `scp`, patterns and folders of files, long options. Here and not above, because models have not learned
# from them.
_IN_PROSE = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|well|half|long|self|believe"
_COMMAND = rf"""
    | \{{(?:\d{{1,3}}|[biu_^]{{1,3}})> | <(?:\d{{1,3}}|[biu_^]{{1,3}})\}}
    | \{{\d{{1,3}},\s?(?:number|date|time|duration|ordinal|spellout)(?:,[^{{}}\n]{{1,60}})?\s?\}}
    | (?<![\w.@+-])[a-z][\w.-]{{0,30}}@[\w.-]{{1,60}}:[\w./~-]{{1,200}}(?<![.,:])
    | (?<![\w/.:<~\\-])~[a-z][\w.-]{{0,30}}(?:/[\w.@+-]{{1,60}}){{2,20}}(?<![.,])
    | (?<![\w/.:<~\\*-])(?:[\w.-]{{1,60}}/){{1,20}}[\w-]{{0,40}}\*
      (?: \*?/[\w./*-]{{1,60}}(?<![./]) | [\w-]{{0,20}}\.(?:[\w.*-]{{1,40}}(?<!\.)|\{{[\w,.*-]{{1,60}}\}}) )
    | (?<![\w%])%\w{{2,40}}(?:\(x86\))?%\\{_BACKSLASHED}
    | (?<![^\s"'`(\[=|])--[a-z][a-z0-9-]{{1,40}}=[\w./:@%+-]{{1,60}}(?<![.:])
    | (?<![^\s"'`(\[=|])--(?!(?:{_IN_PROSE})-)[a-z][a-z0-9]{{0,30}}(?:-[a-z0-9]{{1,30}}){{1,6}}(?![\w-])
"""
_NUMBER = (
    r"(?<![\w.,]) [-+\u2212]?\d{1,40} (?: [.,:'\u2019\u00a0\u202f]\d{1,20} ){0,9} (?: %|°[CF]?|[A-Za-z]{1,4}(?!\w) )?"
)

# Each name of `PatternName`; a `laravel` or an `accelerator` is a guess that only its file format can make.
PATTERNS: dict[str, str] = {
    "printf": _PRINTF,
    "percent": _PERCENT,
    "brace": _BRACE,
    "template": _TEMPLATE,
    "shell": _SHELL,
    "i18next": r"\$t\([\w.:,{}\s\"-]{1,100}\)",
    "vue": r"(?<![\w@]) @(?:\.[a-z]{1,12})?: (?: \([\w.-]{1,80}\) | [A-Za-z_][\w-]{0,60}(?:\.[\w-]{1,60}){0,8} )",
    "laravel": r"(?<![\w:/]) :[A-Za-z_]\w{0,60}",
    "tag": _TAG,
    "entity": r"&(?: \#\d{1,7} | \#[xX][0-9a-fA-F]{1,6} | [a-zA-Z][a-zA-Z0-9]{1,31} );",
    "escape": r"""\\(?: [nrt"'\\] | u[0-9A-Fa-f]{4} | U[0-9A-Fa-f]{8} | x[0-9A-Fa-f]{2}
      | \([A-Za-z_][\w.]{0,60}\) )""",
    "accelerator": r"(?<![\w&]) [&_~](?=[^\W_]) | (?<=[^\W_]) [&_~](?=[^\W_])",
    "url": _URL,
    "email": _EMAIL,
    "path": _PATH,
    "code": r"(?<![\w`]) (?: ``[^`\n]{1,500}`` | `(?![\s`])[^`\n]{0,500}[^\s`]` ) (?![`A-Za-z0-9])",
    "emoji": _EMOJI,
    "number": _NUMBER,
    "date": _DATE,
    "time": _TIME,
    "phone": _PHONE,
    "identifier": _IDENTIFIER_RUN,
    "marker": _MARKER + _COMMAND + _COLON + _CODE + _SHELL_COMMAND,
}
# What a text with a placeholder has somewhere: most lines have none of it, and no pattern is tried on them.
_SIGNS = {
    "printf": "%", "percent": "%", "brace": "{", "template": "[{<]", "shell": r"\$", "i18next": r"\$t\(", "vue": "@",
    "laravel": ":", "tag": "<", "entity": "&", "escape": r"\\", "accelerator": "[&_~]", "url": r"[\w:]:|//|\.\w",
    "email": "@", "path": r"[/\\]|\.\w", "code": "`",
    "emoji": "[\u203c\u2049\u20e3\u2122-\u2bff\ufe0f\U0001f000-\U0001faff]", "number": r"\d", "date": r"\d",
    "time": r"\d:\d", "phone": r"\d(?:[-. )]+|[가-힣] ?)\d", "identifier": r"[0-9]|:\w\w:",
    "marker": r"([#@$^\xa7~|+&_%])\1|[#@\xa7^|]\w|\[[A-Z[]|\[/[a-z]|<<|&[lg]t;|\{[\dbiu_^]|<[biu_^\d]+\}|\w@|~[a-z]|/\*"
    r"|%\\|--[a-z]|[\u2260-\u2265\u2248]|:[A-Za-z+-]|\{\s?\w+\s?,|[a-z] -[A-Za-z-]",
}  # fmt: skip
_ANY_SIGN = re.compile(
    r"[%{<$@&`\\\d\[|^#\xa7~\u203c\u2049\u20e3\u2122-\u2bff\ufe0f\U0001f000-\U0001faff]|[\w:]:|/"
    r"|\.\w|__|\+\+|--[a-z]|:[A-Za-z]|(?<![^ (\"'])-[A-Za-z]",
    re.ASCII,
)
_DIGIT = re.compile(r"\d")
# What training hides behind symbols or plants in pairs: the patterns that models have learned from.
LEARNED = tuple(name for name in PLACEHOLDERS if name not in ("date", "time", "phone", "identifier", "marker"))
# The pattern of a placeholder that was given as it is written.
LITERAL = "literal"
_TRAILING = ".,;:!?'*"


class Placeholder(NamedTuple):
    """The characters from `begin` to before `end` of a text, the name of the pattern they match, and themselves."""

    begin: int
    end: int
    pattern: str
    text: str


def find_placeholders(
    text: str, patterns: Sequence[str] | None = None, literals: Iterable[str] = ()
) -> list[Placeholder]:
    """The placeholders of a text by the named patterns, all but those `ON_REQUEST` by default; in order.

    `literals` are found as well, as they are written. Of two that overlap, the longer one is found, and of equally long
    ones the first. Raises ConfigError for a name that is none.
    """
    if patterns is None:
        patterns = PLACEHOLDERS if _ANY_SIGN.search(text) else ()
    elif patterns is LEARNED and not _ANY_SIGN.search(text):
        return []
    placeholders = [match for name in dict.fromkeys(patterns) for match in _matches(text, name, patterns is LEARNED)]
    for literal in dict.fromkeys(literals):
        if not literal or literal not in text:  # of the many names of a long line, a sentence has few
            continue
        placeholders += [Placeholder(*match.span(), LITERAL, literal) for match in re.finditer(as_word(literal), text)]
    return apart(placeholders)


def apart(placeholders: Sequence[Placeholder]) -> list[Placeholder]:
    """Placeholders in order; of those that overlap the longest, and of equally long ones the first."""
    if len(placeholders) < 2:
        return list(placeholders)
    chosen: list[Placeholder] = []
    taken = bytearray(max(match.end for match in placeholders))
    for match in sorted(placeholders, key=lambda span: (span.begin - span.end, span.begin)):
        if not (taken[match.begin] or taken[match.end - 1]):  # nothing longer is inside
            taken[match.begin : match.end] = b"\1" * (match.end - match.begin)
            chosen.append(match)
    return sorted(chosen)


def as_word(literal: str) -> str:
    """A pattern for a text as it is written, where it is no part of a longer word of Latin letters and digits."""
    before = "(?<![A-Za-z0-9_])" if re.match("[A-Za-z0-9_]", literal) else ""
    after = "(?![A-Za-z0-9_])" if re.search("[A-Za-z0-9_]$", literal) else ""
    return before + re.escape(literal) + after


def is_prose(text: str) -> bool:
    """Whether a text has no sign of a pattern that is found by default and no digit: no placeholder and no number."""
    return not _ANY_SIGN.search(text) and not _DIGIT.search(text)


def blanked(text: str, placeholders: Iterable[Placeholder], sign: str = " ") -> str:
    """The text with a sign in place of each character of its placeholders, which are in order and apart."""
    parts, at = list[str](), 0
    for placeholder in placeholders:
        parts += (text[at : placeholder.begin], sign * (placeholder.end - placeholder.begin))
        at = placeholder.end
    return "".join((*parts, text[at:]))


def _matches(text: str, name: str, is_learned: bool = False) -> list[Placeholder]:
    sign, pattern = _compiled(name)
    placeholders: list[Placeholder] = []
    if not sign.search(text):
        return placeholders
    variables = _variables(text, is_learned) if name == "shell" else ""
    at = 0
    while match := pattern.search(text, at):
        begin, end = match.span()
        at = max(end, begin + 1)
        if name in ("url", "path") or (name == "marker" and "%\\" in match[0]):
            end = begin + len(_without_rest(match[0]))
            if end > begin and text[end : end + 1] in ("[", "]"):
                at = end  # another address may follow: `[https://a.org](https://b.org)`
        is_other = match[0][-1:].isdigit() and len(match[0]) == 2 and match[0][-1] not in variables
        if name == "identifier":
            end -= len(match[0]) - len(_name_in(match[0]))
        if (name == "shell" and is_other) or (name == "identifier" and not _is_identifier(text[begin:end])):
            continue
        if end > begin:
            placeholders.append(Placeholder(begin, end, name, text[begin:end]))
    return placeholders


@lru_cache(maxsize=64)
def _compiled(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    if name not in PATTERNS:
        raise ConfigError(f"decode.placeholders: no pattern {name!r}; choose from: {', '.join(PATTERNS)}")
    only_ascii = re.NOFLAG if name == "brace" else re.ASCII  # a letter of Hangul may follow all others
    return re.compile(_SIGNS[name], re.ASCII), re.compile(PATTERNS[name], re.VERBOSE | only_ascii)


# Words about money: next to them `$1` is a price. `The page $1 was deleted` is a message with a variable.
_MONEY = re.compile(
    r"\b(?:costs?|price[ds]?|pricing|pa(?:y|ys|id|ying)|spen[dt]s?|spending|bought|buy(?:s|ing)?|sell(?:s|ing)?|sold|worth|"
    r"cheap\w*|expensive|dollars?|cents?|bucks?|bid(?:s|ding)?|rents?|wages?|ow(?:e|es|ed)|len[dt]|borrow\w*|donat\w+|"
    r"coins?|bills?|discount\w*|apiece|earn\w*|invest\w*|cash|money|profits?|refund\w*|drinks?|coffee|burgers?|"
    r"tickets?|lottery)\b|\$1(?:-a-|\s?/|\s(?:a|an|per|off|each)\s)|\b(?:a|another)\s\$1\b"
    r"|[$€£¥₩]\s?(?:\d{2}|\d[.,]\d|[2-9])"
    r"|가격|비용|요금|달러|센트|지불|할인|돈[을이은]|[샀팔][다어던았]|(?<![가-힣])사[다면려]|싸[다게]|비싸|빌[려렸]|벌었|환불|"
    r"저렴|\$1\s?(?:짜리|밖에)|\d원",
    re.IGNORECASE,
)
# Words before the amount of a price, and not before a name: prepositions, articles, adverbs, verbs of paying.
_BEFORE_PRICE = (
    r"of|for|at|by|to|from|in|with|than|over|under|about|around|nearly|almost|only|just|exactly|roughly|approximately|least|"
    r"most|the|a|an|another|each|every|this|that|one|my|your|his|her|our|their|its|is|was|are|were|be|been|and|or|but|as|"
    r"if|costs?|price[ds]?|pa(?:y|ys|id|ying)|spen[dt]s?|spending|buy(?:s|ing)?|bought|sell(?:s|ing)?|sold|worth|"
    r"ow(?:e|es|ed)|len[dt]|borrow\w*|donat\w+|earn\w*|invest\w*|cash|money|rents?|wages?|fees?|fares?|profits?|me|us|you|"
    r"him|them|save[sd]?|charge[sd]?|got|get|gets|have|has|had|make[s]?|made|need|needs|give[sn]?|gave|i|we|he|she|they"
)
# `$1` is the name of the noun before it where a verb follows, or an ending in both shapes: `Ticket $1 was closed`.
_NAMED = re.compile(
    rf"\b(?!(?:{_BEFORE_PRICE})\b)[A-Za-z]+\s\$1\s(?:is|was|are|were|has|have|had|will|would|can|cannot|could|may|must|"
    r"might|should|does|did|do|not|no\slonger|already|failed|needs)\b|\$1(?:[을를이가은는과와]\([을를이가은는과와]\)|\([으]\)로)",
    re.IGNORECASE,
)
# A noun right before `$1` says nothing of money, which what is sold does elsewhere: `close ticket $1`.
_NOUN = re.compile(rf"\b(?!(?:{_BEFORE_PRICE})\b)[A-Za-z]+(?<!s)\s\$1(?!\s(?:a|an|per|off|each)\b)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(\d)(?!\d|[.,]\d)")


def _variables(text: str, is_learned: bool) -> str:
    """The digits of `$1`, `$2`, …, as far as each number up to them is there: `$5` alone is a price.

    So is `$1` where money is spoken of, unless it is the name of a noun; training texts keep it (`is_learned`).
    """
    if is_learned:
        return "".join(takewhile(lambda digit: f"${digit}" in text, "123456789"))
    present = set(_VARIABLE.findall(text))
    digits = "".join(takewhile(present.__contains__, "123456789"))
    is_price = digits == "1" and not _NAMED.search(text) and _MONEY.search(_NOUN.sub("", text))
    return "" if is_price else digits


# A word, an initial letter in small; a number with its unit or ending: `top-10`, `5-year-old`, `mid-1990s`, `Fig.3`.
_WORD_OR_NUMBER = re.compile(r"[a-z]+|[A-Z]?[a-z]+|\d+[A-Za-z]{0,4}")
_JOINTS = re.compile(r"[-.:/+]+")
_LEAST = 3
# `MP3s`, `B-52s`: the plural is no part of the name. Names of fewer signs are shown to a model, which may know them.
_PLURAL = re.compile(r"(?:[A-Z]{1,6}[-.]?){1,3}\d{1,4}[A-Z]{0,3}s")
# `COVID-19-related`: an adjective is made of a name.
_ABOUT = re.compile(
    r"-(?:related|based|like|style|compatible|compliant|specific|infected|positive|negative|enabled|powered|capable|"
    r"equipped|driven|certified|managed|only|free|class|type|level|induced|ready)$"
)
# `9billion`, `20minutes`, `0=off`: a number and a word without a space.
_UNSPACED = re.compile(
    r"\d+(?:\.\d+)?(?:hundred|thousand|[bmtrz]{1,2}illion|second|minute|hour|month|year|week|people|person|point|percent|"
    r"dollar|euro|pound|player|times|meter|metre|mile|degree|page|day|star|inch|feet|foot|watt|volt|gram)s?"
    r"|[1-4]-[dD]|\d+=[a-z]+"
)


def _is_identifier(run: str) -> bool:
    """Whether a run of letters, digits and what joins them is copied; otherwise it is words with a number."""
    has_digit, has_letter = any(map(str.isdigit, run)), any(map(str.isalpha, run))
    if not has_letter:  # an address of four parts; dots alone make a version: `1.2.3`
        return run.count(".") > 1 and run.replace(".", "").replace(":", "").replace("/", "").isdigit()
    if run.count(":") > 1 and all(len(part) <= 4 for part in re.split("[:/.]", run)):  # MAC, IPv6
        return has_digit or run.count(":") > 3
    if not has_digit or len(run) < _LEAST or _UNSPACED.fullmatch(run):
        return False
    return "_" in run or "=" in run or not all(map(_WORD_OR_NUMBER.fullmatch, _JOINTS.split(run)))


def _name_in(run: str) -> str:
    """A run of letters and digits without the ending of a plural, and without the end of an adjective."""
    if run[-1] == "s" and _PLURAL.fullmatch(run):
        return run[:-1]
    return _ABOUT.sub("", run) if "-" in run else run


def _without_rest(address: str) -> str:
    """An address without the punctuation and the Korean particles after it, and without a bracket it does not open."""
    address = address.partition("[/")[0]
    opened, closing_bracket, _ = address.partition("]")
    if closing_bracket and "[" not in opened:  # `[url=https://a.org]here[/url]`
        address = opened
    for _ in range(8):
        before = address
        address = address.rstrip(_TRAILING)
        for opening, closing in ("()", "[]", "{}"):
            if address.endswith(closing) and address.count(opening) < address.count(closing):
                address = address[:-1]
        run = "".join(takewhile(lambda letter: "가" <= letter <= "힣", reversed(address)))[::-1]
        if run and is_particles("가나", run, agree=False):
            address = address.removesuffix(run)
        if address == before:
            break
    return address
