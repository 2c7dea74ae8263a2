// expect: exception
// message: no
for (let i = 0; i < 1000; i++) void tools.fail({ message: "no" });
await tools.sleep({ ms: 20 });
return 1;
