<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="ko_KR" sourcelanguage="en">
<context>
    <name>MainWindow</name>
    <message>
        <location filename="../main.cpp" line="12"/>
        <source>&amp;Open the file</source>
        <extracomment>A menu</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n dog(s) in %1</source>
        <translation type="unfinished">
            <numerusform></numerusform>
        </translation>
    </message>
    <message>
        <source>The &lt;b&gt;cat&lt;/b&gt;</source>
        <translation>고양이</translation>
    </message>
    <message>
        <source>Old</source>
        <translation type="vanished">옛</translation>
    </message>
</context>
</TS>
