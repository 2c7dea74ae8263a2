// expect: ok
console.log("a\u0000b");
return "\u0000";
