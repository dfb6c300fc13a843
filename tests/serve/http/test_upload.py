"""The name of an uploaded file, as clients write it."""

import pytest

from dragoman.serve.http.upload import sent_name

ENCODED = 'filename="=?utf-8?B?67O0LnR4dA==?="'
EXTENDED = "filename*=utf-8''%EB%B3%B4.txt"


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        (f"form-data; name=file; {ENCODED}; {EXTENDED}", "보.txt"),  # as .NET sends it
        (f"form-data; name=file; {ENCODED}", "보.txt"),
        (f"form-data; name=file; {EXTENDED}", "보.txt"),
        ("form-data; name=file; FileName* = UTF-8'ko'%EB%B3%B4.txt", "보.txt"),
        ('form-data; name=file; filename="=?utf-8?Q?=EB=B3=B4?= =?utf-8?Q?.txt?="', "보.txt"),
        ('form-data; name="file"; filename="보.txt"', "보.txt"),
        ("form-data; name=file; filename*=iso-8859-1''%A3.txt; filename=a.txt", "a.txt"),
        ('form-data; name=file; filename="=?x?B?!?="', "=?x?B?!?="),
        ("form-data; name=file; filename=\"a; filename*=utf-8''b.txt\"", "a; filename*=utf-8''b.txt"),
        ('form-data; name="file"; filename=""', ""),
        ('form-data; name="target"', None),
    ],
)
def test_a_name_that_is_not_ascii_is_read_as_each_client_writes_it(disposition, name):
    assert sent_name(disposition.encode()) == name
