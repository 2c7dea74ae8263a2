// expect: ok timeout
const n = 20_000;
const all = await Promise.all(Array.from({ length: n }, (_, i) => tools.echo({ i })));
return all.length;
