// expect: ok
return ["\ud800", "\udc00\ud800", "ok"];
