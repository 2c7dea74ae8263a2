// expect: worker-exit exception timeout
return "a".repeat(1e6).replace(/a/g, "b".repeat(1e6)).length;
