// expect: output-limit
console.log("x".repeat(5e6));
