// expect: timeout
return /^(?=a)(a+)+$/.test("a".repeat(41) + "b");
