// expect: worker-exit exception
return "x".repeat(2e9).length;
