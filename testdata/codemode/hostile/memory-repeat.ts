// expect: worker-exit exception
return "x".repeat(2 ** 40).length;
