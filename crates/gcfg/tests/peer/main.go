// The Go reader of cloud.conf, to compare ours with.
//
// Input: documents, each after its length (4 bytes, big endian). Output: a line for each, "error" or the values read.
// With the argument "letters" or "digits": the version of Unicode, and the ranges that an identifier may have.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"
	"unicode"

	"gopkg.in/gcfg.v1"
)

type span struct{ time.Duration }

func (s *span) UnmarshalText(text []byte) (err error) {
	s.Duration, err = time.ParseDuration(string(text))
	return err
}

type word string

type section struct {
	Name   string
	Long   string `gcfg:"hyphen-name"`
	Bool   bool
	Int    int
	Uint   uint
	Span   span
	Word   word
	List   []string
	Sticky string `gcfg:"sticky-k"`
}

type config struct {
	Section section
	Other   section
	Sub     map[string]*section
}

func main() {
	if len(os.Args) > 1 {
		ranges(os.Args[1])
		return
	}
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		var size uint32
		if binary.Read(in, binary.BigEndian, &size) != nil {
			return
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			panic(err)
		}
		fmt.Fprintln(out, read(string(text)))
	}
}

func read(text string) string {
	var c config
	if err := gcfg.FatalOnly(gcfg.ReadInto(&c, strings.NewReader(text))); err != nil {
		return "error"
	}
	lines := []string{"section" + show(&c.Section), "other" + show(&c.Other)}
	names := []string{}
	for name := range c.Sub {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		lines = append(lines, fmt.Sprintf("sub %x%s", name, show(c.Sub[name])))
	}
	return strings.Join(lines, " | ")
}

func show(s *section) string {
	text := fmt.Sprintf(" %x %x %t %d %d %d %x %x [", s.Name, s.Long, s.Bool, s.Int, s.Uint, int64(s.Span.Duration), string(s.Word), s.Sticky)
	for _, item := range s.List {
		text += fmt.Sprintf("%x,", item)
	}
	return text + "]"
}

func ranges(which string) {
	is := unicode.IsLetter
	if which == "digits" {
		is = unicode.IsDigit
	}
	fmt.Println(unicode.Version)
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !is(r) {
			continue
		}
		first := r
		for is(r + 1) {
			r++
		}
		fmt.Printf("%x %x\n", first, r)
	}
}
