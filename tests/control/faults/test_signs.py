"""Signs, foreign words and negation: what a translation loses or makes up, and what is only written otherwise."""

import pytest

from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import Faults, Requirements
from dragoman.control.faults.signs import OPTION, differing_words, lost_measures, lost_others

EN_KO, KO_EN = ("en", "ko"), ("ko", "en")


def faults(source: str, text: str, languages: tuple[str, str] | None) -> Faults:
    return Requirements.of(source, DecodeConfig(), languages=languages).faults(text)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("It costs €5 and £3.", "5유로와 3파운드입니다."),
        ("Save 5%.", "5퍼센트를 아끼세요."),
        ("Save 5%.", "5％를 아끼세요."),
        ("50 kg at 20 °C", "섭씨 20도에서 50㎏"),
        ("Section § 5 applies.", "제5조가 적용됩니다."),
        ("✓ Done", "✓ 완료"),
        ("½ cup of sugar", "설탕 반 컵"),
        ("m² of floor", "바닥 제곱미터"),
        ("Do not open it.", "열지 마세요."),
        ("She failed the exam.", "시험에 합격하지 못했다."),
        ("You must go.", "가지 않으면 안 된다."),
        ("Only two are left.", "둘밖에 없다."),
        ("It's cold, isn't it?", "춥죠?"),
        ("The PDF is empty.", "PDF가 비어 있다."),
        ("He was *happy* then.", "그때 그는 * 행복 *했다."),
        ("He was *happy* then.", "그때 그는 행복했다."),
        ("Gold +5%", "금 5% 증가"),
        ("Open the URLs and APIs.", "URL과 API를 여세요."),
        ("Copy the MP3s.", "MP3를 복사하세요."),
        ("Ask the Hugging Face team.", "HuggingFace 팀에 물어보세요."),
        ("In the 9ᵗʰ year", "9년째에"),
        ("COVID-19 spread quickly.", "코로나19가 빠르게 퍼졌다."),
        ("It costs A$15 or USD 10.", "가격은 호주 달러 15나 10달러입니다."),
        ("Add 30 g in 5 s.", "5초에 30그램을 넣으세요."),
        ("A 5G phone of the 1990s", "1990년대의 5G 전화"),
        ("COVID-19 spread quickly.", "코로나 바이러스가 빠르게 퍼졌다."),
        ("A GPT-4-based tool", "GPT-4 기반 도구"),
        ("The passwords do not match.", "암호가 다릅니다."),
        ("It is indestructible.", "파괴할 수 없다."),
        ("Block the app from reading it.", "앱이 읽지 못하도록 하세요."),
        ("Otherwise it is empty.", "그렇지 않으면 비어 있다."),
        ("Do not allow", "허용 안함"),
        ("It costs $1.", "가격은 1달러입니다."),
        ("«Save» and „Cancel“", "\"저장\"과 '취소'"),
        ("It's 「ours」.", "“우리” 것이다."),
        ("It leaves at 7:30pm.", "오후 7시 30분에 출발한다."),
        ("I ran 5 km with 2 lb.", "2파운드를 들고 5킬로미터를 뛰었다."),
        ("I couldn't help eating.", "먹지 않을 수 없었다."),
        ("I don't know why she didn't come.", "그녀가 왜 안 왔는지 모르겠어요."),
        ("Open from nine a.m. to 5 p.m.", "오전 아홉 시부터 17시까지 엽니다."),
        ("It starts at 10 a.m.", "10:00에 시작한다."),
        ("At 30 am I too old?", "서른 살이면 너무 늦었나요?"),
        ("Open from nine to six.", "오전 9시부터 오후 6시까지 엽니다."),
        ("Henry VIII and part II", "헨리 8세와 2부"),
        ("It starts at 19:30, or 14:00.", "오후 7시 30분이나 오후 2시에 시작합니다."),
        ("I read 「The Little Prince」.", "*어린 왕자*를 읽었다."),
        ("「Go.」 and 「Stop!」", "'가.'와 '멈춰!'"),
        ("He came -as you know- late.", "아시다시피 그는 늦게 왔다."),
        ("My brother -the one in Seoul- left early.", "서울에 사는 형은 일찍 떠났다."),
        ("The subway was packed at rush hour.", "지하철은 퇴근 시간에 만원을 이루었다."),
        ("Director Baek came.", "백 원장님이 오셨습니다."),
        ("The 2018 peace talks opened.", "2018 평화 회담이 열렸다."),
        ("Windows 11 does not have it.", "윈도우 11엔 없는 기능이다."),
        ("He came in the top 10.", "그는 10위안에 들었다."),
        ("See page xii for details.", "자세한 내용은 XII쪽을 보세요."),
        ("At 7.30 in the evening we met.", "우리는 오후 7.30에 만났다."),
        ("It sold for tens of thousands of won.", "몇 만 원에 팔렸다."),
        ("I had no choice but to go.", "할 수 없이 갔다."),
        ("He has countless friends.", "그는 친구가 수없이 많다."),
        ("Bitcoin payments are irreversible.", "비트코인 지불은 철회할 수 없습니다."),
        ("An unknown error occurred while loading it.", "불러오는 동안 알 수 없는 오류가 발생했습니다."),
        ("Error loading the file", "파일을 불러올 수 없음"),
        ("It is out of control.", "제어할 수 없다."),
        ("I'm out of money.", "돈이 없다."),
        ("Don't move!", "꼼짝 마!"),
        ("Don't worry.", "걱정하지 마세요."),
        ("Don't worry.", "괜찮아요."),
        ("Don't you think so?", "그렇지?"),
        ("Open from 9:00 to 5 p.m.", "9:00부터 오후 5시까지 엽니다."),
        ("It takes 5 minutes and 8 hours.", "8시간 5분 걸립니다."),
        ("The 5-year anniversary of a 5-year plan", "5개년 계획의 5주년"),
        ("From January 1 for 1 year", "1월 1일부터 1년간"),
        ("24-hour service in Q2", "2분기 24시간 서비스"),
        ("It is 84 square meters, or 84 m².", "84㎡, 즉 84㎡이다."),
        ("Its area is 605 square kilometers.", "면적은 605㎢이다."),
        ("It holds 5 liters and makes 60 kilowatts.", "5ℓ가 들어가고 60㎾를 낸다."),
        ("It is 5 kilometers and 170 cm long and weighs 3 kilograms.", "길이는 5㎞와 170㎝이고 무게는 3㎏이다."),
        ("Contoso Co., Ltd. announced it.", "콘토소㈜는 발표했다."),
        ("Thank you :)", "감사합니다 ^^"),
        ("50% off", "반값 할인"),
    ],
)
def test_what_is_only_written_otherwise_has_no_warning(source: str, target: str) -> None:
    assert not faults(source, target, EN_KO).flags
    assert not faults(target, source, KO_EN).flags


@pytest.mark.parametrize(
    ("source", "target", "kind", "says"),
    [
        ("It costs €5.", "⚠5입니다.", "sign", "€"),
        ("50% off", "50 할인", "sign", "lacks %"),
        ("½ cup of sugar", "설탕 컵", "sign", "½"),
        ("See ¶ 3.", "¦ 3을 보세요.", "sign", "adds ¦"),
        ("Rated ●●●○", "등급 ●○", "sign", "●"),
        ("Save the file", "파일 \ufffd 저장", "sign", "\ufffd"),
        ("The sign says مرحبا here.", "표지판에 켄터라고 적혀 있다.", "word", "مرحبا"),
        ("Open the window.", "msg를 엽니다.", "word", "msg"),
        ("I do not like this movie.", "나는 이 영화를 좋아한다.", "negation", "lacks"),
        ("I like this movie.", "나는 이 영화를 좋아하지 않는다.", "negation", "adds"),
        ("Copy the MP3s.", "MP4를 복사하세요.", "placeholder", "MP3"),
        ("COVID-19 spread quickly.", "독감이 빠르게 퍼졌다.", "placeholder", "COVID-19"),
        ("It costs $1.", "가격은 1원입니다.", "sign", "$"),
        ("«Save» the file.", "파일을 저장하세요.", "sign", "lacks «"),
        ("«Save» the file", "«ave· 파일", "sign", "lacks »"),
        ("「Save」 and „Cancel“", "저장과 '취소'", "sign", "lacks „"),
        ("It leaves at 7:30pm.", "7시 30분에 출발한다.", "sign", "lacks p.m."),
        ("A man weighs 180 lb.", "남자는 무게가 180면이다.", "sign", "lacks lb"),
        ("The page $1 was deleted.", "1달러 페이지가 삭제되었습니다.", "placeholder", "$1"),
        ("Run 100 m in 9.58 s.", "100미터를 9.58년에 뛴다.", "sign", "lacks s"),
        ("Add 30 g of sugar.", "설탕 30 숟가락을 넣으세요.", "sign", "lacks g"),
        ("It costs R$30.", "가격은 30달러입니다.", "sign", "lacks R$"),
        ("It costs 20 CHF.", "가격은 20입니다.", "sign", "lacks CHF"),
        ("The budget is CHF 2.5 million.", "예산은 250만 달러입니다.", "sign", "lacks CHF"),
        ('A 32" screen is big.', "화면 32개가 크다.", "sign", 'lacks "'),
        ("Rates rose by 2 percentage points.", "비율이 2퍼센트 늘었다.", "sign", "percentage points"),
        ("Pass the option -v to it.", "그것에 옵션을 전달하세요.", "sign", "lacks -v"),
        ("Chapter IV, page xii", "챕터 IV, 페이지 xi", "sign", "lacks xii"),
        ("He owes me 20 quid.", "그는 나에게 오징어 20마리를 빚졌다.", "sign", "quid"),
        ("It costs 20 dollars.", "가격은 20원입니다.", "sign", "dollars"),
        ("The water has pH 7.4 here.", "여기 물은 오후 7.4입니다.", "sign", "adds 오후 7.4"),
        ("A footnote* here", "여기 각주", "sign", "*"),
        ("The value is +5 today.", "오늘 값은 5입니다.", "sign", "+"),
        ("Do not delete the file.", "파일을 삭제하세요.", "negation", "lacks"),
        ("Do not remove the battery.", "배터리를 제거하십시오.", "negation", "lacks"),
        ("The bad news is true.", "나쁜 소식은 사실이 아니다.", "negation", "adds"),
        ("You can cancel the contract.", "계약을 해지할 수 없습니다.", "negation", "adds"),
        ("You cannot cancel the contract.", "계약을 해지할 수 있습니다.", "negation", "lacks"),
        ("Don't take this medicine with alcohol.", "이 약은 술과 함께 복용하세요.", "negation", "lacks"),
        ("Don't touch it.", "만지세요.", "negation", "lacks"),
        ("Let's meet at 3:30 a.m.", "오후 3:30에 만나요.", "sign", "lacks a.m."),
        ("It takes 5 minutes.", "5시간 걸립니다.", "sign", "lacks minutes"),
        ("Take 2 tablets every 8 hours.", "8일마다 2정을 복용하세요.", "sign", "lacks hours"),
        ("I ran 10 kilometers.", "10미터를 달렸다.", "sign", "lacks kilometers"),
        ("It is 5 miles away.", "5킬로미터 떨어져 있다.", "sign", "lacks miles"),
        ("It costs 5,000 won.", "가격은 5,000달러입니다.", "sign", "lacks won"),
        ("We have 10K users.", "사용자가 10명 있습니다.", "number", "10000"),
        ("It raised $5B.", "5달러를 모금했다.", "number", "5000000000"),
        ("Open %q: %v", "%q를 열기: %d", "placeholder", "lacks %v"),
    ],
)
def test_what_is_lost_or_made_up_has_a_warning(source: str, target: str, kind: str, says: str) -> None:
    flags = faults(source, target, EN_KO).flags
    assert kind in {flag.kind for flag in flags}
    assert says in " ".join(flag.text for flag in flags)


def test_of_unknown_languages_only_broken_bytes_are_a_fault() -> None:
    assert not faults("It costs €5.", "Das sind 5 Taler.", ("en", "de")).flags
    assert [flag.kind for flag in faults("Save it.", "Spei\ufffd es.", ("en", "de")).flags] == ["sign"]
    assert not faults("a \ufffd b", "a \ufffd b", None).flags


def test_a_word_that_a_long_line_has_often_is_looked_for_once() -> None:
    """Half a megabyte: were each of its words looked for, this would take hours."""
    source, target = "Kubernetes는 정말 좋은 도구입니다. " * 10_000, "It is really a good tool for you. " * 10_000
    assert differing_words(source, target, ("ko", "en"))[0]["Kubernetes"] == 10_000


@pytest.mark.parametrize(
    ("source", "target", "kind", "says"),
    [
        ("계약을 해지할 수 없습니다.", "You can cancel the contract.", "negation", "lacks"),
        ("만지세요.", "Don't touch it.", "negation", "adds"),
        ("오후 3시 30분에 만나요.", "Let's meet at 3:30 a.m.", "sign", "lacks p.m."),
        ("6개월마다 검진을 받으세요.", "Get checked every 6 weeks.", "sign", "lacks 개월"),
        ("10킬로그램이다.", "It is 10 grams.", "sign", "lacks 킬로그램"),
    ],
)
def test_what_is_lost_into_english_has_a_warning(source: str, target: str, kind: str, says: str) -> None:
    assert [flag.kind for flag in faults(source, target, KO_EN).flags if says in flag.text] == [kind]


def test_two_negations_are_not_one() -> None:
    [flag] = faults("먹지 않을 수 없었다.", "I couldn't eat.", KO_EN).flags
    assert flag.kind == "negation"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Add 30 g of butter.", "버터 30g를 추가하세요."),
        ("He ran it in 9.58 s.", "그는 9.58초에 뛰었다."),
        ("That was in the 1990 s.", "1990년대의 일이다."),
        ("The shop opens at 18 h.", "가게는 18시에 연다."),
        ("Take Exit 12 W.", "12번 출구로 나가세요."),
        ("TRY 3 NEW FLAVORS", "3개의 새로운 맛을 시도하세요"),
        ("The budget is CHF 2.5 million.", "예산은 250만 프랑입니다."),
        ('A 32" screen and a 20" one', "32인치 화면과 20인치 화면"),
        ('He said "I am 32".', "그는 32라고 했다."),
        ("금리가 0.25%포인트 올랐다.", "Interest rates rose by 0.25 percentage points."),
        ("5평짜리 방의 5평균", "The average of a 5 pyeong room"),
        ("It costs 9 euros and 100 yen, or 5 bucks.", "9유로와 100엔, 아니면 5달러이다."),
        ("5,000원이고 100위안은", "5,000 won and ¥100"),
        ("3원 색과 20엔진", "3 primary colours and 20 engines"),
        ("It costs CHF 20.", "가격은 20 스위스 프랑이다."),
        ("It costs 500 THB.", "가격은 500밧이다."),
    ],
)
def test_units_and_currencies_under_another_name_are_there(source: str, target: str) -> None:
    assert not lost_measures(source, target)


def test_a_measure_that_has_another_name_in_the_translation_is_missed() -> None:
    assert lost_measures("5평짜리 방이다.", "It is a 5-day room.") == {"평": 1}
    assert lost_measures("금리가 0.25%p 올랐다.", "Rates rose by 0.25 percent.") == {"%p": 1}


@pytest.mark.parametrize("text", ["-Yes. -No.", "-I know. -A what?", "-ok. -no.", "Stop! -no", "well-known -- and"])
def test_what_a_speaker_says_is_no_option(text: str) -> None:
    assert not OPTION.search(text)
    assert OPTION.findall("쓰는 -v와 (-D), -la and -X") == ["-v", "-D", "-la", "-X"]


@pytest.mark.parametrize(
    ("source", "target", "lost"),
    [
        ("만 원짜리 지폐를 주웠다.", "I found a ten-won bill.", ["만 원"]),
        ("천 원만 빌려줘.", "Lend me ten thousand won.", ["천 원"]),
        ("만 원만 빌려줘.", "Lend me 10,000 won.", []),
        ("백만 달러를 벌었다.", "He earned a million dollars.", []),
        ("게임이 만원입니다.", "The game is full.", []),
        ("오만 원을 냈다.", "I paid fifty thousand won.", []),
    ],
)
def test_a_round_sum_in_words_keeps_its_power_of_ten(source: str, target: str, lost: list[str]) -> None:
    assert list(faults(source, target, KO_EN).missing_signs) == lost


def test_many_units_take_linear_time() -> None:
    """40,000 of them in a text of 20,000 numbers: were each looked for, this would take minutes."""
    assert lost_measures("5 s CHF 5 " * 20_000, "5 " * 20_000) == {"s": 1, "CHF": 1}


def test_many_units_of_one_kind_take_linear_time() -> None:
    """40,000 numbers with a unit in both: were each compared with each, this would take minutes."""
    assert lost_measures("5 minutes, 6 hours " * 20_000, "5 hours, 6 hours " * 20_000) == {"minutes": 1}


def test_many_options_sums_and_numerals_take_linear_time() -> None:
    """5,000 of each: were each looked for in the other text, this would take minutes."""
    text = "run -a -bc 만 원 xii " * 5_000
    assert not lost_others(text, text.replace("만 원", "ten thousand won"))
    assert lost_others(text, "a " * 50_000) == {"-a": 1, "-bc": 1, "만 원": 1}


def test_a_long_number_takes_linear_time() -> None:
    """200,000 digits and no unit: were a number looked for at each of them, this would take minutes."""
    assert not lost_measures("1" * 200_000, "1" * 200_000)
