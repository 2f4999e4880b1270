"""Places by name: "我住在海边" and "I'm from Accounting" name none."""

from mex_pipeline.rules_extractor.value import listed

TOWNS_ZH = listed(
    """
    北京, 上海, 天津, 重庆, 香港, 澳门, 台湾, 河北, 山西, 辽宁, 吉林, 黑龙江, 江苏, 浙江, 安徽, 福建, 江西, 山东, 河南,
    湖北, 湖南, 广东, 海南, 四川, 贵州, 云南, 陕西, 甘肃, 青海, 内蒙古, 内蒙, 广西, 西藏, 宁夏, 新疆, 石家庄, 唐山,
    秦皇岛, 邯郸, 邢台, 保定, 张家口, 承德, 沧州, 廊坊, 衡水, 太原, 大同, 阳泉, 长治, 晋城, 朔州, 晋中, 运城, 忻州,
    临汾, 吕梁, 呼和浩特, 包头, 乌海, 赤峰, 通辽, 鄂尔多斯, 呼伦贝尔, 沈阳, 大连, 鞍山, 抚顺, 本溪, 丹东, 锦州, 营口,
    阜新, 辽阳, 盘锦, 铁岭, 葫芦岛, 长春, 四平, 辽源, 通化, 白山, 松原, 白城, 延边, 哈尔滨, 齐齐哈尔, 鸡西, 鹤岗,
    双鸭山, 大庆, 伊春, 佳木斯, 七台河, 牡丹江, 黑河, 绥化, 南京, 无锡, 徐州, 常州, 苏州, 南通, 连云港, 淮安, 盐城,
    扬州, 镇江, 泰州, 宿迁, 昆山, 江阴, 张家港, 常熟, 杭州, 宁波, 温州, 嘉兴, 湖州, 绍兴, 金华, 衢州, 舟山, 台州, 丽水,
    义乌, 慈溪, 合肥, 芜湖, 蚌埠, 淮南, 马鞍山, 淮北, 铜陵, 安庆, 黄山, 滁州, 阜阳, 宿州, 六安, 亳州, 池州, 宣城, 福州,
    厦门, 莆田, 三明, 泉州, 漳州, 南平, 龙岩, 宁德, 晋江, 南昌, 景德镇, 萍乡, 九江, 新余, 鹰潭, 赣州, 吉安, 宜春, 抚州,
    上饶, 济南, 青岛, 淄博, 枣庄, 东营, 烟台, 潍坊, 济宁, 泰安, 威海, 日照, 临沂, 德州, 聊城, 滨州, 菏泽, 郑州, 开封,
    洛阳, 平顶山, 安阳, 鹤壁, 新乡, 焦作, 濮阳, 许昌, 漯河, 三门峡, 南阳, 商丘, 信阳, 周口, 驻马店, 武汉, 黄石, 十堰,
    宜昌, 襄阳, 鄂州, 荆门, 孝感, 荆州, 黄冈, 咸宁, 随州, 恩施, 长沙, 株洲, 湘潭, 衡阳, 邵阳, 岳阳, 常德, 张家界, 益阳,
    郴州, 永州, 怀化, 娄底, 湘西, 广州, 韶关, 深圳, 珠海, 汕头, 佛山, 江门, 湛江, 茂名, 肇庆, 惠州, 梅州, 汕尾, 河源,
    阳江, 清远, 东莞, 中山, 潮州, 揭阳, 云浮, 南宁, 柳州, 桂林, 梧州, 北海, 防城港, 钦州, 贵港, 玉林, 百色, 贺州, 河池,
    来宾, 崇左, 海口, 三亚, 儋州, 成都, 自贡, 攀枝花, 泸州, 德阳, 绵阳, 广元, 遂宁, 内江, 乐山, 南充, 眉山, 宜宾, 广安,
    达州, 雅安, 巴中, 资阳, 阿坝, 甘孜, 凉山, 贵阳, 六盘水, 遵义, 安顺, 毕节, 铜仁, 昆明, 曲靖, 玉溪, 保山, 昭通, 丽江,
    普洱, 临沧, 大理, 西双版纳, 红河, 拉萨, 日喀则, 林芝, 西安, 铜川, 宝鸡, 咸阳, 渭南, 延安, 汉中, 榆林, 安康, 商洛,
    兰州, 嘉峪关, 金昌, 白银, 天水, 武威, 张掖, 平凉, 酒泉, 庆阳, 定西, 陇南, 西宁, 海东, 银川, 石嘴山, 吴忠, 固原,
    中卫, 乌鲁木齐, 克拉玛依, 吐鲁番, 哈密, 喀什, 伊犁, 台北, 高雄, 台中, 台南, 新竹, 浦东, 浦东新区, 东京, 大阪, 京都,
    名古屋, 福冈, 横滨, 札幌, 首尔, 釜山, 新加坡, 吉隆坡, 曼谷, 清迈, 胡志明市, 河内, 雅加达, 巴厘岛, 马尼拉, 新德里,
    孟买, 班加罗尔, 迪拜, 伊斯坦布尔, 莫斯科, 伦敦, 曼彻斯特, 爱丁堡, 剑桥, 牛津, 巴黎, 里昂, 柏林, 慕尼黑, 汉堡,
    法兰克福, 阿姆斯特丹, 布鲁塞尔, 苏黎世, 日内瓦, 维也纳, 布拉格, 华沙, 罗马, 米兰, 马德里, 巴塞罗那, 里斯本, 都柏林,
    斯德哥尔摩, 哥本哈根, 奥斯陆, 赫尔辛基, 雅典, 纽约, 波士顿, 华盛顿, 费城, 芝加哥, 亚特兰大, 迈阿密, 达拉斯, 休斯顿,
    奥斯汀, 丹佛, 洛杉矶, 旧金山, 湾区, 硅谷, 圣何塞, 圣地亚哥, 西雅图, 波特兰, 温哥华, 多伦多, 蒙特利尔, 渥太华,
    墨西哥城, 圣保罗, 悉尼, 墨尔本, 布里斯班, 珀斯, 堪培拉, 奥克兰, 惠灵顿, 开普敦, 开罗, 内罗毕
    """
)
"""Chinese provinces and cities and the foreign cities Chinese speakers live in: what "我是…人" takes."""

PLACES_ZH = TOWNS_ZH | listed(
    """
    美国, 英国, 法国, 德国, 日本, 韩国, 加拿大, 澳大利亚, 澳洲, 新西兰, 意大利, 西班牙, 葡萄牙, 荷兰, 比利时, 瑞士,
    奥地利, 瑞典, 挪威, 丹麦, 芬兰, 爱尔兰, 波兰, 俄罗斯, 泰国, 越南, 马来西亚, 印尼, 菲律宾, 印度, 巴西, 阿根廷,
    墨西哥, 埃及, 土耳其, 阿联酋, 以色列, 南非
    """
)
"""Towns and countries in Chinese."""

PLACES_EN = listed(
    """
    Afghanistan, Albania, Algeria, Argentina, Armenia, Australia, Austria, Azerbaijan, Bangladesh, Belarus, Belgium,
    Bolivia, Bosnia, Brazil, Bulgaria, Cambodia, Cameroon, Canada, Chile, China, Colombia, Costa Rica, Croatia, Cuba,
    Cyprus, Czechia, the Czech Republic, Denmark, the Dominican Republic, Ecuador, Egypt, England, Estonia, Ethiopia,
    Finland, France, Germany, Ghana, Greece, Guatemala, Honduras, Hong Kong, Hungary, Iceland, India, Indonesia, Iran,
    Iraq, Ireland, Israel, Italy, Jamaica, Japan, Kazakhstan, Kenya, Korea, South Korea, Kuwait, Latvia, Lebanon,
    Lithuania, Luxembourg, Macau, Malaysia, Malta, Mexico, Moldova, Mongolia, Montenegro, Morocco, Myanmar, Nepal,
    the Netherlands, New Zealand, Nigeria, Northern Ireland, Norway, Pakistan, Panama, Peru, the Philippines, Poland,
    Portugal, Puerto Rico, Qatar, Romania, Russia, Rwanda, Saudi Arabia, Scotland, Senegal, Serbia, Singapore, Slovakia,
    Slovenia, South Africa, Spain, Sri Lanka, Sudan, Sweden, Switzerland, Syria, Taiwan, Tanzania, Thailand, Tunisia,
    Turkey, Uganda, Ukraine, the UAE, the UK, the United Kingdom, the US, the USA, the United States, Uruguay,
    Uzbekistan, Venezuela, Vietnam, Wales, Zambia, Zimbabwe, Alabama, Alaska, Arizona, Arkansas, California, Colorado,
    Connecticut, Delaware, Florida, Hawaii, Idaho, Illinois, Indiana, Iowa, Kansas, Kentucky, Louisiana, Maine,
    Maryland, Massachusetts, Michigan, Minnesota, Mississippi, Missouri, Montana, Nebraska, Nevada, New Hampshire,
    New Jersey, New Mexico, New York, North Carolina, North Dakota, Ohio, Oklahoma, Oregon, Pennsylvania, Rhode Island,
    South Carolina, South Dakota, Tennessee, Texas, Utah, Vermont, Virginia, Washington, West Virginia, Wisconsin,
    Wyoming, Ontario, Quebec, British Columbia, Alberta, Amsterdam, Athens, Atlanta, Auckland, Austin, Baltimore,
    Bangalore, Bangkok, Barcelona, Beijing, Belfast, Belgrade, Berlin, Birmingham, Bogota, Boston, Bristol, Brisbane,
    Brooklyn, Brussels, Bucharest, Budapest, Buenos Aires, Cairo, Cambridge, Cape Town, Cardiff, Charlotte, Chengdu,
    Chennai, Chicago, Chongqing, Cincinnati, Cleveland, Cologne, Columbus, Copenhagen, Dallas, Delhi, Denver, Detroit,
    Dubai, Dublin, Edinburgh, Frankfurt, Geneva, Glasgow, Guangzhou, Hamburg, Hangzhou, Hanoi, Helsinki, Houston,
    Hyderabad, Istanbul, Jakarta, Jerusalem, Johannesburg, Karachi, Kiev, Kyiv, Kyoto, Kuala Lumpur, Lagos, Lahore,
    Leeds, Lima, Lisbon, Liverpool, London, Los Angeles, Lyon, Madrid, Manchester, Manila, Marseille, Melbourne,
    Mexico City, Miami, Milan, Minneapolis, Montreal, Moscow, Mumbai, Munich, Nairobi, Nanjing, Naples, Nashville,
    New Delhi, New Orleans, New York City, NYC, Osaka, Oslo, Ottawa, Oxford, Paris, Perth, Philadelphia, Phoenix,
    Pittsburgh, Porto, Portland, Prague, Pune, Rio de Janeiro, Riga, Rome, Rotterdam, Sacramento, Salt Lake City,
    San Antonio, San Diego, San Francisco, San Jose, Santiago, Sao Paulo, Seattle, Seoul, Shanghai, Shenzhen, Sofia,
    St. Louis, Stockholm, Stuttgart, Suzhou, Sydney, Taipei, Tallinn, Tampa, Tehran, Tel Aviv, the Bay Area, the Bronx,
    Tokyo, Toronto, Turin, Vancouver, Vienna, Vilnius, Warsaw, Wuhan, Xi'an, Zagreb, Zurich
    """
)
"""Countries, states and cities in English."""
