package worker

import (
	"fmt"
	"strings"
	"unicode"
)

// categories are the long names of Unicode's general categories.
var categories = map[string]string{
	"Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
	"Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc",
	"Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
	"Punctuation": "P", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe",
	"Connector_Punctuation": "Pc", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po",
	"Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So",
	"Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
	"Other": "C", "Control": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co",
	"punct": "P", "digit": "Nd", "cntrl": "Cc",
}

// emoji are the characters with the Emoji_Presentation property, in blocks; Go's
// tables do not have it.
var emoji = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x231A, Hi: 0x231B, Stride: 1},
		{Lo: 0x23E9, Hi: 0x23F3, Stride: 1},
		{Lo: 0x25FD, Hi: 0x25FE, Stride: 1},
		{Lo: 0x2600, Hi: 0x27BF, Stride: 1},
		{Lo: 0x2B05, Hi: 0x2B07, Stride: 1},
		{Lo: 0x2B1B, Hi: 0x2B1C, Stride: 1},
		{Lo: 0x2B50, Hi: 0x2B55, Stride: 5},
	},
	R32: []unicode.Range32{
		{Lo: 0x1F1E6, Hi: 0x1F1FF, Stride: 1},
		{Lo: 0x1F300, Hi: 0x1F64F, Stride: 1},
		{Lo: 0x1F680, Hi: 0x1F6FF, Stride: 1},
		{Lo: 0x1F7E0, Hi: 0x1F7EB, Stride: 1},
		{Lo: 0x1F900, Hi: 0x1F9FF, Stride: 1},
		{Lo: 0x1FA70, Hi: 0x1FAFF, Stride: 1},
	},
}

// propertyClass is the inside of a character class that matches what \p{name}
// does, or "" for a property that is not known. goja's engine takes \p for a p.
func propertyClass(name string) string {
	key, value, keyed := strings.Cut(name, "=")
	var table *unicode.RangeTable
	switch {
	case keyed && (key == "Script" || key == "sc" || key == "Script_Extensions" || key == "scx"):
		table = unicode.Scripts[value]
	case keyed && (key == "General_Category" || key == "gc"):
		table = category(value)
	case keyed:
	case name == "Any":
		return `\u{0}-\u{10FFFF}`
	case name == "ASCII":
		return `\u{0}-\u{7F}`
	case name == "Alphabetic" || name == "Alpha":
		return ranges(unicode.L) + ranges(unicode.Nl) + ranges(unicode.Other_Alphabetic)
	case name == "Uppercase" || name == "Upper":
		return ranges(unicode.Lu) + ranges(unicode.Other_Uppercase)
	case name == "Lowercase" || name == "Lower":
		return ranges(unicode.Ll) + ranges(unicode.Other_Lowercase)
	case name == "ID_Start" || name == "IDS":
		return ranges(unicode.L) + ranges(unicode.Nl) + ranges(unicode.Other_ID_Start)
	case name == "ID_Continue" || name == "IDC":
		return propertyClass("ID_Start") + ranges(unicode.Mn) + ranges(unicode.Mc) + ranges(unicode.Nd) +
			ranges(unicode.Pc) + ranges(unicode.Other_ID_Continue)
	case name == "Emoji" || name == "Emoji_Presentation" || name == "Extended_Pictographic" || name == "RGI_Emoji":
		table = emoji
	default:
		if table = category(name); table == nil {
			table = unicode.Properties[name]
		}
	}
	if table == nil {
		return ""
	}
	return ranges(table)
}

func category(name string) *unicode.RangeTable {
	if short, ok := categories[name]; ok {
		name = short
	}
	return unicode.Categories[name]
}

func ranges(t *unicode.RangeTable) string {
	var b strings.Builder
	write := func(lo, hi, stride uint32) {
		if stride != 1 {
			for c := lo; c <= hi; c += stride {
				fmt.Fprintf(&b, `\u{%X}`, c)
			}
			return
		}
		fmt.Fprintf(&b, `\u{%X}-\u{%X}`, lo, hi)
	}
	for _, r := range t.R16 {
		write(uint32(r.Lo), uint32(r.Hi), uint32(r.Stride))
	}
	for _, r := range t.R32 {
		write(r.Lo, r.Hi, r.Stride)
	}
	return b.String()
}
