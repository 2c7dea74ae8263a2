// expect: invalid-output
return { [Symbol("x")]: 1 };
