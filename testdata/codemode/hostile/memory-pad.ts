// expect: worker-exit exception
return "x".padEnd(2 ** 31, "ab").length;
