// expect: timeout
return /^((a|a)+)+(?=x)$/.test("a".repeat(45) + "!");
