// expect: timeout
class A extends Array { static get [Symbol.species](): any { for (;;) {} } }
return A.from([1]).map((x) => x);
