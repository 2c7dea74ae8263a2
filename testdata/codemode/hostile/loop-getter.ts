// expect: timeout
const o = { get x() { for (;;) {} } };
return o;
