// expect: timeout
return /^(a+)+\1?$/.test("a".repeat(41) + "b");
