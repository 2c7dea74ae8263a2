// expect: ok
for (let i = 0; i < 1000; i++) void tools.sleep({ ms: 60_000 });
return "left";
