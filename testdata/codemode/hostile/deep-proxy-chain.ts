// expect: exception timeout worker-exit ok
let p: any = {};
for (let i = 0; i < 3e6; i++) p = new Proxy(p, {});
return p.x;
