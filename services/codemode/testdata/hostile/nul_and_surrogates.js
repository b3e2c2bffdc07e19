// ends: ok
return ['\u0000', '\ud800', '\udfff\ud800']
