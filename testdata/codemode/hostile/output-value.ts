// expect: output-limit
return "x".repeat(5e6);
