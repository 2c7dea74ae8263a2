// expect: timeout
const p: any = new Proxy({}, { get: () => { for (;;) {} } });
return p.x;
