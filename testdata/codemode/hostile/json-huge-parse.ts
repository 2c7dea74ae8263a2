// expect: timeout worker-exit
const text = "[" + "1,".repeat(2e7) + "1]";
for (;;) JSON.parse(text);
